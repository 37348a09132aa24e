//! Sets of profiles.

use std::fmt;

use super::Profile;

/// A set of profiles.
///
/// ```
/// use devarray_mock::{Profile, ProfileSet};
///
/// let set = ProfileSet::from([Profile::Legacy, Profile::CoherentHost]);
/// assert!(set.has(Profile::Legacy) && !set.has(Profile::Strict));
/// assert_eq!(set.to_string(), "coherent-host, legacy");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ProfileSet(u8);

impl ProfileSet {
    /// Whether the profile is in the set.
    #[must_use]
    pub const fn has(self, profile: Profile) -> bool {
        self.0 & (1 << profile as u8) != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of profiles in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The profiles that are in both sets.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The profiles in the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Profile> {
        Profile::ALL.into_iter().filter(move |&profile| self.has(profile))
    }
}

impl FromIterator<Profile> for ProfileSet {
    fn from_iter<I: IntoIterator<Item = Profile>>(profiles: I) -> Self {
        Self(profiles.into_iter().fold(0, |set, profile| set | 1 << profile as u8))
    }
}

impl<const N: usize> From<[Profile; N]> for ProfileSet {
    fn from(profiles: [Profile; N]) -> Self {
        profiles.into_iter().collect()
    }
}

impl fmt::Display for ProfileSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Profile::name).collect();
        f.pad(&names.join(", "))
    }
}

impl fmt::Debug for ProfileSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
