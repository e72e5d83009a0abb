//! Random identifiers.

use ring::rand::{SecureRandom, SystemRandom};

/// Returns 32 random hexadecimal digits.
pub(crate) fn random_hex() -> String {
    let mut bytes = [0; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.expect("the system has random numbers");
    hex::encode(bytes)
}
