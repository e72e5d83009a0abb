//! Random names.

use ring::rand::{SecureRandom, SystemRandom};

/// 32 hexadecimal digits that no other call returns.
pub(crate) fn random_hex() -> String {
    let mut bytes = [0; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.expect("the system has random numbers");
    hex::encode(bytes)
}
