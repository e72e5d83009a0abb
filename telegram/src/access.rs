//! Access: the users and groups that may use the bot, and the users who may approve.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rand::RngExt;

use crate::place::is_group;

/// The characters of a pairing code, without those that are easily confused.
const CODE_LETTERS: &[u8] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const CODE_LENGTH: usize = 12;
/// The number of wrong codes after which the pairing code becomes invalid.
const MAX_WRONG_CODES: u32 = 10;

/// The users and groups that may use the bot.
pub struct Access {
    allowed: BTreeSet<i64>,
    approvers: BTreeSet<i64>,
    pairing: Mutex<Pairing>,
}

/// A one-time code that is valid until it is used.
struct Pairing {
    code: Option<String>,
    wrong_codes: u32,
    paired: Option<i64>,
}

/// The result of a pairing code that a user sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairingResult {
    /// The user may use the bot from now on.
    Paired,
    /// The code is not valid.
    Refused,
}

impl Access {
    /// Access for users and groups, by id. Without any, one user can pair with a code. Without approvers, everyone who
    /// may use the bot in a chat may approve there.
    pub fn new(
        allowed: impl IntoIterator<Item = i64>,
        approvers: impl IntoIterator<Item = i64>,
    ) -> Self {
        let allowed: BTreeSet<_> = allowed.into_iter().collect();
        let code = allowed.is_empty().then(random_code);
        Self {
            allowed,
            approvers: approvers.into_iter().collect(),
            pairing: Mutex::new(Pairing {
                code,
                wrong_codes: 0,
                paired: None,
            }),
        }
    }

    /// The pairing code, if it is still valid.
    pub fn pairing_code(&self) -> Option<String> {
        self.pairing().code.clone()
    }

    /// Whether the user may use the bot in a chat.
    pub(crate) fn may_use(&self, user: i64, chat: i64) -> bool {
        if is_group(chat) {
            return self.allowed.contains(&chat);
        }
        self.allowed.contains(&user) || self.pairing().paired == Some(user)
    }

    /// Whether the user may approve and deny tool calls in a chat.
    pub(crate) fn may_approve(&self, user: i64, chat: i64) -> bool {
        self.may_use(user, chat) && (self.approvers.is_empty() || self.approvers.contains(&user))
    }

    /// Uses a pairing code. It is valid once.
    pub(crate) fn pair(&self, user: i64, given: &str) -> PairingResult {
        let mut pairing = self.pairing();
        let Some(code) = &pairing.code else {
            return PairingResult::Refused;
        };
        if code.eq_ignore_ascii_case(given.trim()) {
            pairing.code = None;
            pairing.paired = Some(user);
            return PairingResult::Paired;
        }
        pairing.wrong_codes += 1;
        if pairing.wrong_codes >= MAX_WRONG_CODES {
            pairing.code = None;
        }
        PairingResult::Refused
    }

    fn pairing(&self) -> std::sync::MutexGuard<'_, Pairing> {
        self.pairing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn random_code() -> String {
    let mut random = rand::rng();
    let letters = (0..CODE_LENGTH).map(|_| random.random_range(0..CODE_LETTERS.len()));
    letters.map(|at| char::from(CODE_LETTERS[at])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_users_and_groups_may() {
        let access = Access::new([7, -100], []);
        assert!(access.may_use(7, 7) && access.may_approve(7, 7));
        assert!(access.may_use(8, -100) && access.may_approve(8, -100));
        assert!(!access.may_use(8, 8) && !access.may_approve(8, 8));
        assert!(!access.may_use(7, -200), "a group is allowed by its own id");
        assert_eq!(access.pairing_code(), None);
    }

    #[test]
    fn approvers_may_be_fewer() {
        let access = Access::new([7, 8, -100], [8, 9]);
        assert!(!access.may_approve(7, 7) && access.may_approve(8, 8));
        assert!(!access.may_approve(7, -100) && access.may_approve(9, -100));
        assert!(!access.may_approve(9, 9), "an approver is no user");
    }

    #[test]
    fn a_code_pairs_one_user_once() {
        let access = Access::new([], []);
        let code = access.pairing_code().unwrap();
        assert_eq!(code.len(), CODE_LENGTH);
        assert_eq!(access.pair(7, "x"), PairingResult::Refused);
        assert!(!access.may_use(7, 7));
        let lower = code.to_lowercase();
        assert_eq!(access.pair(7, &lower), PairingResult::Paired);
        assert!(access.may_use(7, 7) && access.may_approve(7, 7));
        assert_eq!(access.pair(8, &code), PairingResult::Refused);
        assert!(!access.may_use(8, 8));
    }

    #[test]
    fn a_code_cannot_be_guessed() {
        let access = Access::new([], []);
        let code = access.pairing_code().unwrap();
        for _ in 0..MAX_WRONG_CODES {
            access.pair(7, "guess");
        }
        assert_eq!(access.pair(7, &code), PairingResult::Refused);
    }
}
