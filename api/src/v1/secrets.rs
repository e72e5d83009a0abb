//! `/v1/secrets`

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{FromRequest, HttpRequest, HttpResponse, delete, get, put};
use serde::Deserialize;
use serde_json::Value;
use shared::db::{self, Pool};
use shared::secret::{MasterKeys, Secret, SecretName, SecretValue};
use utoipa::{IntoParams, ToSchema};

use crate::auth::Caller;
use crate::body::Json;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;

type SecretPage = Page<Secret>;

/// The configured master keys. Without master keys, the error explains how to configure one.
pub(crate) struct ConfiguredMasterKeys(pub(crate) Data<MasterKeys>);

impl FromRequest for ConfiguredMasterKeys {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let keys = request.app_data::<Data<MasterKeys>>().cloned();
        ready(keys.map(Self).ok_or(ApiError::NotConfigured(
            "this service cannot store secrets or send webhooks: its operator must set SKILLET_MASTER_KEY, for the API and the workers, \
             to the output of `openssl rand -base64 32`",
        )))
    }
}

/// The request to set a secret.
#[expect(dead_code, reason = "read by hand, so that no error repeats the value")]
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutSecret {
    /// The value: 8 to 65,536 bytes of UTF-8, without NUL. White space at the beginning and the end does not count
    /// toward the minimum. A character has up to 4 bytes. The value cannot be read again.
    #[schema(min_length = 2, max_length = 65_536, format = Password, write_only)]
    value: String,
}

/// Sets a secret.
///
/// An existing secret with this name is replaced. Jobs that start from now on receive this value.
#[utoipa::path(tag = "secrets", request_body(content = PutSecret, example = json!({"value": "correct horse battery staple"})),
    params(("name" = SecretName, Path, description = "The name of the secret, and of the environment variable with its value")),
    responses(
        (status = 204, description = "The secret is set"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The service has no master key", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[put("/secrets/{name}")]
pub(crate) async fn put_secret(
    caller: Caller,
    keys: ConfiguredMasterKeys,
    name: Path<String>,
    body: Json<Value>,
    pool: Data<Pool>,
) -> Result<HttpResponse, ApiError> {
    let name = SecretName::parse(&name).map_err(|error| ApiError::Malformed(error.to_string()))?;
    let Json(body) = body;
    let value = parse(body)?;
    let sealed = keys.0.seal(caller.tenant, &name, &value);
    db::secret::put(&**pool, caller.tenant, &name, &sealed).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn parse(body: Value) -> Result<SecretValue, ApiError> {
    let Value::Object(mut fields) = body else {
        return Err(ApiError::field("", "must be an object"));
    };
    let value = fields.remove("value");
    if !fields.is_empty() {
        return Err(ApiError::field(
            "",
            "must have the field `value`, and no other field",
        ));
    }
    match value {
        Some(Value::String(value)) => {
            SecretValue::parse(value).map_err(|error| ApiError::field("/value", error))
        }
        Some(_) => Err(ApiError::field("/value", "must be a string")),
        None => Err(ApiError::field("/value", "is required")),
    }
}

/// Deletes a secret.
///
/// Jobs that start from now on do not receive it.
#[utoipa::path(tag = "secrets",
    params(("name" = SecretName, Path, description = "The secret")),
    responses(
        (status = 204, description = "Deleted"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The service has no master key", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[delete("/secrets/{name}")]
pub(crate) async fn delete_secret(
    caller: Caller,
    _: ConfiguredMasterKeys,
    name: Path<String>,
    pool: Data<Pool>,
) -> Result<HttpResponse, ApiError> {
    let absent = ApiError::NotFound("secret");
    let Ok(name) = SecretName::parse(&name) else {
        return Err(absent);
    };
    if db::secret::delete(&**pool, caller.tenant, &name).await? {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(absent)
    }
}

/// Query parameters for a list of secrets.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListSecrets {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the secrets by name, without their values.
#[utoipa::path(tag = "secrets", params(ListSecrets), responses(
    (status = 200, description = "A page of secrets", body = SecretPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "The service has no master key", body = Problem, content_type = "application/problem+json"),
))]
#[get("/secrets")]
pub(crate) async fn list_secrets(
    caller: Caller,
    _: ConfiguredMasterKeys,
    pool: Data<Pool>,
    query: Query<ListSecrets>,
) -> Result<JsonResponse<SecretPage>, ApiError> {
    let ListSecrets { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let after = cursor::text(cursor.as_deref())?;
    let secrets = db::secret::list(&**pool, caller.tenant, after.as_deref(), limit + 1).await?;
    Ok(JsonResponse(Page::of(secrets, limit, |secret| {
        secret.name.to_string()
    })))
}
