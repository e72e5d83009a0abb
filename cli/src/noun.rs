//! Nouns of the command line, such as `skillet jobs`, and their verbs.

use clap::{Args, Subcommand};
use skillet_client::Client;

use crate::args::{ClientOptions, Remote};
use crate::config::Config;
use crate::exit::Exit;
use crate::output::OutputFormat;
use crate::session::Session;

/// The verbs of a noun.
pub(crate) trait Verb: Subcommand {
    /// The verb that a noun without a verb runs. It shows or lists.
    fn default() -> Self;

    /// Whether the verb needs a service.
    fn needs_service(&self, _: &ClientOptions) -> bool {
        true
    }

    /// Runs a verb that needs no service.
    async fn run_alone(&self, _: &ClientOptions) -> anyhow::Result<Exit> {
        Ok(Exit::Done)
    }

    /// Runs a verb with a service.
    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit>;
}

/// A noun with an optional verb. The options are accepted before and after the verb.
#[derive(Args)]
pub(crate) struct Noun<V: Subcommand> {
    #[command(subcommand)]
    verb: Option<V>,
    #[command(flatten)]
    options: ClientOptions,
}

impl<V: Verb> Noun<V> {
    /// The service options, if the verb needs a service.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        let needs_service = match &self.verb {
            Some(verb) => verb.needs_service(&self.options),
            None => true,
        };
        needs_service.then_some(&self.options.remote)
    }

    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let verb = self.verb.unwrap_or_else(V::default);
        run(&verb, &self.options, config).await
    }
}

/// A verb without a noun: `skillet usage`, and verbs of earlier versions such as `skillet list`.
#[derive(Args)]
pub(crate) struct Alone<A: Args> {
    #[command(flatten)]
    arguments: A,
    #[command(flatten)]
    pub(crate) options: ClientOptions,
}

impl<A: Args> Alone<A> {
    pub(crate) async fn run<V: Verb>(
        self,
        verb: fn(A) -> V,
        config: &Config,
    ) -> anyhow::Result<Exit> {
        run(&verb(self.arguments), &self.options, config).await
    }
}

async fn run<V: Verb>(verb: &V, options: &ClientOptions, config: &Config) -> anyhow::Result<Exit> {
    if !verb.needs_service(options) {
        return verb.run_alone(options).await;
    }
    let output = options.output;
    let run = async |client: &Client| verb.run(client, output).await;
    Session::with(&options.remote, config, run).await
}
