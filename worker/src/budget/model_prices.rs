//! The prices of the models that may answer.

use shared::job::{JobError, JobErrorCode};
use shared::limits::Limits;
use shared::model_list::ModelList;
use shared::provider::{Price, Providers, UnknownPrice};

/// The prices of the models that may answer.
#[derive(Clone, Default)]
pub(crate) struct ModelPrices(Vec<(String, Option<Price>)>);

impl ModelPrices {
    /// Collects the prices of a job's models. A cost limit requires models with known prices.
    pub(crate) fn new(
        models: &ModelList,
        limits: &Limits,
        providers: &Providers,
    ) -> Result<Self, JobError> {
        let price = |model| match providers.price(model) {
            None if limits.max_cost_usd.is_some() => {
                let unknown = UnknownPrice(model.clone());
                Err(JobErrorCode::ModelNotConfigured.with(unknown.to_string()))
            }
            price => Ok((model.to_string(), price)),
        };
        models.iter().map(price).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the price of the model that answered.
    pub(crate) fn of(&self, model: &str) -> Option<Price> {
        let mut prices = self.0.iter();
        prices.find(|(name, _)| name == model)?.1
    }

    /// Returns the highest price among the models, or `None` if a price is unknown.
    pub(crate) fn most_expensive(&self) -> Option<Price> {
        let mut prices = self.0.iter().map(|(_, price)| *price);
        let first = prices.next()??;
        prices.try_fold(first, |most_expensive, price| {
            Some(most_expensive.max(price?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_covers_each_model_and_a_reply_costs_what_its_own_does() {
        let price = |text: &str| Some(text.parse::<Price>().unwrap());
        let prices = ModelPrices(vec![
            ("a/1".into(), price("3:15")),
            ("b/2".into(), price("5:10")),
        ]);
        assert_eq!(prices.of("b/2"), price("5:10"));
        assert_eq!(prices.most_expensive(), price("5:15"));
        let unknown = ModelPrices(vec![("a/1".into(), price("3:15")), ("b/2".into(), None)]);
        assert_eq!(unknown.most_expensive(), None);
        assert_eq!(ModelPrices::default().most_expensive(), None);
    }
}
