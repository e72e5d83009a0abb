//! `skillet secrets rotate`.

use anyhow::Context;
use shared::db::secret::SealedSecret;
use shared::db::{self, Pool};
use shared::secret::MasterKeys;

use crate::args::Remote;
use crate::directory;
use crate::exit::Exit;
use crate::master_key::{self, KeyFile};
use crate::service::{DirectoryLock, open_database};
use crate::terminal::{print, say};

/// The number of secrets that are read at once.
const BATCH: i64 = 100;

/// `skillet secrets rotate`
///
/// If no key is configured, the data directory gets a new key. No service may run in that directory at the same time,
/// because it would continue to encrypt with the key that it has loaded.
pub(crate) async fn rotate(options: &Remote) -> anyhow::Result<Exit> {
    let home = directory::data(options.own.common.home.data_dir.as_deref())?;
    let configured = master_key::configured(&options.own.common.master_key)?;
    let is_elsewhere = options.own.database_url.is_some() && configured.is_some();
    let _lock = (!is_elsewhere)
        .then(|| DirectoryLock::take(&home))
        .transpose()?;
    let file = KeyFile::of(&home);
    let is_own = configured.is_none();
    let keys = match configured {
        Some(keys) => keys,
        None => file.renew().context(
            "SKILLET_MASTER_KEY is not set, and the data directory has no usable master key",
        )?,
    };
    let rotated = rotate_there(options, &keys).await?;
    print(&format!(
        "{} of the secrets are now encrypted under the master key {}",
        rotated.count,
        keys.current_id()
    ))?;
    for problem in &rotated.left {
        say(&format!("error: {problem}"));
    }
    if !rotated.left.is_empty() {
        return Ok(Exit::Failed);
    }
    if is_own {
        file.forget_earlier()?;
    }
    Ok(Exit::Done)
}

/// Opens the database, rotates the secrets and closes the database.
async fn rotate_there(options: &Remote, keys: &MasterKeys) -> anyhow::Result<Rotated> {
    let home = directory::data(options.own.common.home.data_dir.as_deref())?;
    let named = options.own.database_url.as_deref();
    let named = named.map(|url| options.own.pooler.settings(url));
    let (postgres, database) = open_database(&home, named, say).await?;
    let rotating = async {
        let pool = database
            .connect("skillet secrets", 1)
            .await
            .context("cannot reach the database")?;
        if postgres.is_some() {
            db::migrate(&pool).await?;
        }
        let rotated = rotate_all(&pool, keys).await;
        pool.close().await;
        rotated
    };
    let rotated = rotating.await;
    if let Some(postgres) = postgres {
        tokio::task::spawn_blocking(|| postgres.stop()).await??;
    }
    rotated
}

/// The result of a rotation.
#[derive(Default)]
struct Rotated {
    count: u64,
    /// Messages about secrets that are still encrypted under another key.
    left: Vec<String>,
}

async fn rotate_all(pool: &Pool, keys: &MasterKeys) -> anyhow::Result<Rotated> {
    let mut rotated = Rotated::default();
    let mut after = None;
    loop {
        let batch = db::secret::list_not_under(pool, keys.current_id(), after, BATCH).await?;
        let Some(last) = batch.last() else {
            break;
        };
        after = Some((last.tenant, last.name.clone()));
        for secret in &batch {
            match reseal(pool, keys, secret).await? {
                Ok(()) => rotated.count += 1,
                Err(problem) => rotated.left.push(format!(
                    "the secret {} of the tenant {}: {problem}",
                    secret.name, secret.tenant
                )),
            }
        }
    }
    rotate_webhooks(pool, keys, &mut rotated).await?;
    Ok(rotated)
}

/// Rotates the secrets of webhooks.
async fn rotate_webhooks(
    pool: &Pool,
    keys: &MasterKeys,
    rotated: &mut Rotated,
) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let batch =
            db::webhook_secret::list_not_under(pool, keys.current_id(), after, BATCH).await?;
        let Some(last) = batch.last() else {
            return Ok(());
        };
        after = Some(last.id);
        for secret in &batch {
            let (tenant, id) = (secret.tenant, secret.id);
            match keys.open_webhook(tenant, id, &secret.sealed) {
                Ok(opened) => {
                    let sealed = keys.seal_webhook(tenant, id, &opened);
                    let is_done = db::webhook_secret::reseal(pool, secret, &sealed).await?;
                    rotated.count += u64::from(is_done);
                }
                Err(error) => rotated.left.push(format!(
                    "a secret of webhooks of the tenant {tenant}: {error}"
                )),
            }
        }
    }
}

async fn reseal(
    pool: &Pool,
    keys: &MasterKeys,
    secret: &SealedSecret,
) -> db::Result<Result<(), String>> {
    let value = match keys.open(secret.tenant, &secret.name, &secret.sealed) {
        Ok(value) => value,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let sealed = keys.seal(secret.tenant, &secret.name, &value);
    let is_done = db::secret::reseal(pool, secret, &sealed).await?;
    Ok(if is_done {
        Ok(())
    } else {
        Err("it was changed during the rotation; run `skillet secrets rotate` again".to_owned())
    })
}
