//! The models of a job: the first choice, then its fallbacks.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model_name::{ModelName, NotAModelName};

/// The maximum number of models in a list.
pub const MAX_MODELS: usize = 5;

/// Models in the order in which they are tried. In JSON, one model is a string and several models are an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelList(Vec<ModelName>);

/// The value is not a list of models.
#[derive(Debug, thiserror::Error)]
pub enum NotAModelList {
    /// An entry is not a model name.
    #[error(transparent)]
    Name(#[from] NotAModelName),
    /// The list is empty, or has too many entries.
    #[error("must be a model, or a list of 1 to {MAX_MODELS} models")]
    Length,
    /// A model occurs twice.
    #[error("lists `{0}` twice")]
    Repeated(ModelName),
}

impl ModelList {
    /// Returns the model that is tried first.
    pub fn first(&self) -> &ModelName {
        &self.0[0]
    }

    /// Returns all models in order.
    pub fn iter(&self) -> std::slice::Iter<'_, ModelName> {
        self.0.iter()
    }

    /// Whether there are fallback models.
    pub fn has_fallback(&self) -> bool {
        self.0.len() > 1
    }
}

impl From<ModelName> for ModelList {
    fn from(name: ModelName) -> Self {
        Self(vec![name])
    }
}

impl TryFrom<Vec<ModelName>> for ModelList {
    type Error = NotAModelList;

    fn try_from(names: Vec<ModelName>) -> Result<Self, NotAModelList> {
        if !(1..=MAX_MODELS).contains(&names.len()) {
            return Err(NotAModelList::Length);
        }
        let mut numbered = names.iter().enumerate();
        let repeated = numbered.find(|(place, name)| names[..*place].contains(name));
        match repeated {
            Some((_, name)) => Err(NotAModelList::Repeated(name.clone())),
            None => Ok(Self(names)),
        }
    }
}

/// Parses model names that are separated by commas.
impl FromStr for ModelList {
    type Err = NotAModelList;

    fn from_str(text: &str) -> Result<Self, NotAModelList> {
        let names = text.split(',').map(|name| name.trim().parse());
        names.collect::<Result<Vec<ModelName>, _>>()?.try_into()
    }
}

impl fmt::Display for ModelList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.iter().enumerate() {
            let separator = if place == 0 { "" } else { "," };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

impl<'a> IntoIterator for &'a ModelList {
    type Item = &'a ModelName;
    type IntoIter = std::slice::Iter<'a, ModelName>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for ModelList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [only] => only.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ModelList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ModelListVisitor)
    }
}

struct ModelListVisitor;

impl<'de> Visitor<'de> for ModelListVisitor {
    type Value = ModelList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a model, or a list of 1 to {MAX_MODELS} models")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ModelList, E> {
        let name = text.parse::<ModelName>().map_err(E::custom)?;
        Ok(name.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<ModelList, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = entries.next_element()? {
            names.push(name);
            if names.len() > MAX_MODELS {
                return Err(A::Error::custom(NotAModelList::Length));
            }
        }
        ModelList::try_from(names).map_err(A::Error::custom)
    }
}

/// Written by hand: a derived schema cannot express a string or an array.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for ModelList {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, Ref};
        let name = Ref::from_schema_name("ModelName");
        let several = ArrayBuilder::new()
            .items(name.clone())
            .min_items(Some(1))
            .max_items(Some(MAX_MODELS));
        let schema = AnyOfBuilder::new()
            .item(name)
            .item(several)
            .description(Some(
                "A model, or up to five models in order of preference. The next one replaces a model whose provider \
                 is unavailable.",
            ));
        utoipa::openapi::RefOr::T(schema.build().into())
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for ModelList {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        let name = <ModelName as utoipa::ToSchema>::name().into_owned();
        schemas.push((name, <ModelName as utoipa::PartialSchema>::schema()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_model_is_a_string_and_several_are_an_array() {
        for value in [json!("a/1"), json!(["a/1", "b/2"])] {
            let list: ModelList = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&list).unwrap(), value);
            assert_eq!(list.to_string().parse::<ModelList>().unwrap(), list);
        }
        let one: ModelList = serde_json::from_value(json!(["a/1"])).unwrap();
        assert_eq!(serde_json::to_value(&one).unwrap(), "a/1");
        assert!(!one.has_fallback());
    }

    #[test]
    fn what_is_wrong_with_a_list_is_named() {
        let error = |value| {
            serde_json::from_value::<ModelList>(value)
                .unwrap_err()
                .to_string()
        };
        assert!(error(json!([])).contains("1 to 5 models"));
        assert!(error(json!(["a/1", "a/2", "a/3", "a/4", "a/5", "a/6"])).contains("1 to 5 models"));
        assert!(error(json!(["a/1", "a/1"])).contains("lists `a/1` twice"));
        assert!(error(json!(["a/1", "b"])).contains("`provider/id`"));
        assert!(error(json!(7)).contains("a model, or a list of 1 to 5 models"));
    }
}
