//! Values as bytes, the lowest byte first. Reading never trusts a length.

/// The bytes are not what was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Garbled;

/// A message that is written.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// A message of a kind.
    pub(super) fn of(kind: u8) -> Self {
        Self(vec![kind])
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn usize(&mut self, value: usize) -> &mut Self {
        self.u64(value as u64)
    }

    /// A number, or none.
    pub(super) fn option(&mut self, value: Option<usize>) -> &mut Self {
        match value {
            Some(value) => self.u8(1).usize(value),
            None => self.u8(0),
        }
    }

    /// Bytes behind their number.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.usize(bytes.len());
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn array(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A message that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'r>(&'r [u8]);

impl<'r> Reader<'r> {
    pub(super) fn new(bytes: &'r [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, len: usize) -> Result<&'r [u8], Garbled> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Garbled)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        self.take(N)?.try_into().map_err(|_| Garbled)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Garbled> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32, Garbled> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Garbled> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn usize(&mut self) -> Result<usize, Garbled> {
        usize::try_from(self.u64()?).map_err(|_| Garbled)
    }

    /// A number below a limit.
    pub(super) fn below(&mut self, limit: usize) -> Result<usize, Garbled> {
        self.usize().and_then(|value| if value < limit { Ok(value) } else { Err(Garbled) })
    }

    pub(super) fn option(&mut self) -> Result<Option<usize>, Garbled> {
        match self.u8()? {
            0 => Ok(None),
            1 => Ok(Some(self.usize()?)),
            _ => Err(Garbled),
        }
    }

    /// Bytes behind their number, which is at most this.
    pub(super) fn bytes(&mut self, most: usize) -> Result<&'r [u8], Garbled> {
        let len = self.below(most.saturating_add(1))?;
        self.take(len)
    }

    /// Text of at most `most` bytes.
    pub(super) fn text(&mut self, most: usize) -> Result<&'r str, Garbled> {
        str::from_utf8(self.bytes(most)?).map_err(|_| Garbled)
    }

    /// The message is over.
    pub(super) fn end(self) -> Result<(), Garbled> {
        if self.0.is_empty() { Ok(()) } else { Err(Garbled) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let mut writer = Writer::of(7);
        writer.u8(1).u32(2).u64(3).usize(4).option(None).option(Some(5)).bytes(b"abc").array(&[9, 8]);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!((reader.u8(), reader.u8(), reader.u32()), (Ok(7), Ok(1), Ok(2)));
        assert_eq!((reader.u64(), reader.usize()), (Ok(3), Ok(4)));
        assert_eq!((reader.option(), reader.option()), (Ok(None), Ok(Some(5))));
        assert_eq!((reader.text(3), reader.array()), (Ok("abc"), Ok([9, 8])));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn lengths_are_not_trusted() {
        let mut writer = Writer::of(0);
        writer.usize(usize::MAX);
        let bytes = writer.into_bytes();
        let reader = Reader::new(&bytes[1..]);
        assert_eq!(reader.clone().bytes(usize::MAX), Err(Garbled), "more than there is");
        assert_eq!(reader.clone().bytes(10), Err(Garbled), "more than is allowed");
        assert_eq!(Reader::new(&[1, 0, 0, 0, 0, 0, 0, 0, 0xff]).text(1), Err(Garbled), "no text");
        assert_eq!(Reader::new(&[2]).option(), Err(Garbled));
        assert_eq!(Reader::new(&[2]).end(), Err(Garbled), "more than was agreed on");
    }
}
