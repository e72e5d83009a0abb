//! Prices of models.

use std::str::FromStr;

use super::SCRIPT;
use crate::message::Tokens;
use crate::model_name::ModelName;
use crate::money::Usd;

/// The price of a model, in millionths of a dollar per million tokens of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// A configured price, in dollars per million tokens. `PROVIDER/ID=INPUT:OUTPUT[:CACHE_READ[:CACHE_WRITE]]` sets the
/// price of one model; `PROVIDER/PREFIX*=…` sets the price of all models whose names begin with the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceSetting {
    /// The full name, or the prefix if `is_beginning` is set.
    name: String,
    is_beginning: bool,
    price: Price,
}

/// The text is not a valid price.
#[derive(Debug, thiserror::Error)]
#[error(
    "must be a model, or the beginning of its name and `*`; then `=` and dollars for a million tokens read and written, \
     then optionally for cache reads and writes, e.g. `anthropic/claude-sonnet-4-5=3:15:0.3:3.75` or `ollama/*=0:0`"
)]
pub struct NotAPrice;

/// Millionths of a dollar in a dollar. A price can have six decimals.
const MICROS: u64 = 1_000_000;
const DECIMALS: usize = 6;
/// The highest price, in dollars per million tokens. A higher number is a typing error.
const HIGHEST: u64 = 1_000_000;
/// The number of token cost units in a nanodollar. Token costs are counted in 10⁻¹² dollars, amounts of money in 10⁻⁹
/// dollars.
const PER_NANO: u128 = 1_000;

impl PriceSetting {
    /// The model's name, or the prefix followed by `*`.
    pub fn pattern(&self) -> String {
        let end = if self.is_beginning { "*" } else { "" };
        format!("{}{end}", self.name)
    }

    /// The configured price.
    pub fn price(&self) -> Price {
        self.price
    }
}

impl Price {
    /// The prices in dollars per million tokens: input, output, cache read and cache write.
    pub fn dollars(&self) -> [f64; 4] {
        [self.input, self.output, self.cache_read, self.cache_write]
            .map(|micros| micros as f64 / MICROS as f64)
    }

    /// A price of zero.
    pub const FREE: Self = Self {
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
    };

    /// The cost of these tokens, rounded up.
    pub fn cost(&self, tokens: &Tokens) -> Usd {
        let cached = tokens
            .cache_read_tokens
            .saturating_add(tokens.cache_write_tokens);
        let plain = tokens.input_tokens.saturating_sub(cached);
        sum(&[
            (plain, self.input),
            (tokens.cache_read_tokens, self.cache_read),
            (tokens.cache_write_tokens, self.cache_write),
            (tokens.output_tokens, self.output),
        ])
    }

    /// The highest possible cost of these tokens, regardless of which input tokens are cached.
    pub fn most(&self, input: u64, output: u64) -> Usd {
        sum(&[(input, self.dearest_input()), (output, self.output)])
    }

    /// The maximum number of output tokens that fit into `money` after `input` input tokens. Returns `None` if the
    /// input alone costs more.
    pub fn affordable(&self, money: Usd, input: u64) -> Option<u64> {
        let all = u128::from(money.nanos()) * PER_NANO;
        let left = all.checked_sub(u128::from(input) * u128::from(self.dearest_input()))?;
        let tokens = left.checked_div(self.output.into()).unwrap_or(u128::MAX);
        Some(u64::try_from(tokens).unwrap_or(u64::MAX))
    }

    /// The higher of both prices for each kind of token.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }

    fn dearest_input(&self) -> u64 {
        self.input.max(self.cache_read).max(self.cache_write)
    }
}

fn sum(parts: &[(u64, u64)]) -> Usd {
    let parts = parts.iter();
    let exact: u128 = parts
        .map(|(tokens, price)| u128::from(*tokens) * u128::from(*price))
        .sum();
    Usd::from_nanos(u64::try_from(exact.div_ceil(PER_NANO)).unwrap_or(u64::MAX))
}

impl FromStr for PriceSetting {
    type Err = NotAPrice;

    fn from_str(text: &str) -> Result<Self, NotAPrice> {
        let (name, price) = text.rsplit_once('=').ok_or(NotAPrice)?;
        let name = name.trim();
        let (name, is_beginning) = match name.strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (name, false),
        };
        let is_named = name.split_once('/').is_some_and(|(provider, id)| {
            !provider.is_empty() && (is_beginning || !id.is_empty()) && !id.contains('*')
        });
        if !is_named {
            return Err(NotAPrice);
        }
        Ok(Self {
            name: name.to_owned(),
            is_beginning,
            price: price.parse()?,
        })
    }
}

impl FromStr for Price {
    type Err = NotAPrice;

    fn from_str(text: &str) -> Result<Self, NotAPrice> {
        let prices: Result<Vec<u64>, _> = text.split(':').map(micros).collect();
        let (input, output, more) = match &prices?[..] {
            [input, output, more @ ..] if more.len() <= 2 => (*input, *output, more.to_vec()),
            _ => return Err(NotAPrice),
        };
        Ok(Self {
            input,
            output,
            // The defaults are never below the real prices: all providers charge less for cache reads, and Anthropic
            // charges a quarter more for cache writes.
            cache_read: more.first().copied().unwrap_or(input),
            cache_write: more.get(1).copied().unwrap_or(input + input.div_ceil(4)),
        })
    }
}

/// Parses a decimal number of dollars into millionths.
fn micros(text: &str) -> Result<u64, NotAPrice> {
    let text = text.trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > DECIMALS {
        return Err(NotAPrice);
    }
    let whole: u64 = whole.parse().map_err(|_| NotAPrice)?;
    let part: u64 = format!("{part:0<DECIMALS$}")
        .parse()
        .map_err(|_| NotAPrice)?;
    if whole > HIGHEST {
        return Err(NotAPrice);
    }
    Ok(whole * MICROS + part)
}

/// The price of a model, if it is known. If several configured prices match, an exact name wins, then the longest
/// prefix.
pub(super) fn of(model: &ModelName, configured: &[PriceSetting]) -> Option<Price> {
    if model.provider() == SCRIPT {
        return Some(Price::FREE);
    }
    let name = model.to_string();
    let fitting = configured.iter().filter(|price| {
        if price.is_beginning {
            name.starts_with(&price.name)
        } else {
            name == price.name
        }
    });
    let best = fitting.max_by_key(|price| (!price.is_beginning, price.name.len()));
    best.map(|price| price.price)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn price(text: &str) -> Price {
        text.parse().unwrap()
    }

    fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Tokens {
        Tokens {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
            ..Tokens::default()
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let sonnet = price("3:15:0.3:3.75");
        // 200 uncached, 500 cache reads, 300 cache writes; 100 output.
        let cost = sonnet.cost(&tokens(1_000, 100, 500, 300));
        let nanos = 200 * 3_000 + 500 * 300 + 300 * 3_750 + 100 * 15_000;
        assert_eq!(cost, Usd::from_nanos(nanos));
        assert_eq!(
            price("0.000001:0").cost(&tokens(1, 0, 0, 0)),
            Usd::from_nanos(1)
        );
    }

    #[test]
    fn what_is_not_said_of_the_cache_is_never_cheaper_than_it_is() {
        assert_eq!(price("3:15"), price("3:15:3:3.75"));
        assert_eq!(price("3:15:0.3"), price("3:15:0.3:3.75"));
        assert_eq!(price("0:0"), Price::FREE);
    }

    #[test]
    fn a_name_has_the_price_that_says_most_of_it() {
        let prices = [
            "openai/*=1:1",
            "openai/gpt-5*=2:2",
            "openai/gpt-5=3:3",
            "ollama/*=0:0",
        ];
        let configured: Vec<PriceSetting> = prices.map(|text| text.parse().unwrap()).into();
        let of = |name: &str| of(&name.parse().unwrap(), &configured);
        assert_eq!(of("openai/gpt-5"), Some(price("3:3")));
        assert_eq!(of("openai/gpt-5-mini"), Some(price("2:2")));
        assert_eq!(of("openai/o3"), Some(price("1:1")));
        assert_eq!(of("ollama/qwen3"), Some(Price::FREE));
        assert_eq!(of("script/bash"), Some(Price::FREE));
        assert_eq!(of("anthropic/claude-sonnet-4-5"), None);
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for wrong in [
            "",
            "a/b",
            "a/b=",
            "a/b=1",
            "a/b=1:",
            "a/b=1:-2",
            "a/b=1:2:3:4:5",
            "a/b=1:.5",
            "a/b=1:1e3",
            "a/b=1:0.0000001",
            "a/b=1:9999999",
            "ab=1:2",
            "a/=1:2",
            "/*=1:2",
            "a/*b=1:2",
            "*=1:2",
        ] {
            assert!(wrong.parse::<PriceSetting>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_was_reserved_covers_what_is_used(
            prices in prop::array::uniform4(0..200_000_000_u64),
            money in 0..1_000_000_000_000_u64,
            bound in 0..2_000_000_u64,
            used in 0.0..=1.0_f64,
            cached in 0.0..=1.0_f64,
        ) {
            let [input, output, cache_read, cache_write] = prices;
            let price = Price { input, output, cache_read, cache_write };
            let money = Usd::from_nanos(money);
            let Some(cap) = price.affordable(money, bound) else {
                prop_assert!(price.most(bound, 0) > money);
                return Ok(());
            };
            let cap = cap.min(1_000_000);
            prop_assert!(price.most(bound, cap) <= money);
            let read = (bound as f64 * used) as u64;
            let hit = (read as f64 * cached) as u64;
            let cost = price.cost(&tokens(read, cap, hit, read - hit));
            prop_assert!(cost <= price.most(bound, cap));
        }

        #[test]
        fn all_that_is_affordable_is_found(output in 1..200_000_000_u64, money in 0..10_000_000_000_u64) {
            let price = Price { output, ..Price::FREE };
            let money = Usd::from_nanos(money);
            let cap = price.affordable(money, 0).unwrap();
            prop_assert!(price.most(0, cap + 1) > money);
        }
    }
}
