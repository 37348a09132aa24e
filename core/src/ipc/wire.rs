//! Writes numbers to bytes, and reads them back with every length checked.

/// Reads the bytes of a [`Writer`].
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Takes the next `len` bytes; `None` if there are fewer.
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// Reads text, which comes after its length.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let len = self.size()?;
        std::str::from_utf8(self.take(len)?).ok()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// Writes numbers in little-endian order.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn signed(self, number: i64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.number(text.len() as u64).bytes(text.as_bytes())
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}
