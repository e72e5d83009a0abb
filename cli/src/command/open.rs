//! `skillet open`: the console in a browser.

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::args::Remote;
use crate::connect::connect;
use crate::desktop;
use crate::exit::Exit;
use crate::session::running_service;
use crate::terminal::{print, say};

#[derive(Args)]
pub(crate) struct OpenConsole {
    /// Print the address instead of opening a browser
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    pub(super) remote: Remote,
}

/// The response of `POST /v1/session/codes`.
#[derive(Deserialize)]
struct CreatedSessionCode {
    code: String,
    expires_in: u64,
}

/// `skillet open`: signs a browser in with a one-time code, so that the user types no key.
pub(super) async fn open(options: &OpenConsole) -> anyhow::Result<Exit> {
    let service = running_service(&options.remote)?;
    let client = connect(&service.url, &service.api_key)?;
    let nothing = json!({});
    let code = tokio::select! {
        code = client.post::<CreatedSessionCode>("/v1/session/codes", &nothing) => code?,
        _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
    };
    let console = format!("{}/console/", service.url.trim_end_matches('/'));
    // Browsers do not send the fragment to the server, so the code is in no log.
    let address = format!("{console}#code={}", code.code);
    let note = format!(
        "The address is valid for one sign-in within {} seconds.",
        code.expires_in
    );
    if options.print {
        print(&address)?;
        say(&note);
        return Ok(Exit::Done);
    }
    match desktop::open(&address) {
        Ok(true) => print(&format!("Opened {console}"))?,
        Err(error) => {
            say(&format!(
                "cannot open a browser ({error:#}). {note} Open it yourself:"
            ));
            print(&address)?;
        }
        Ok(false) => {
            say(&format!(
                "There is no desktop here. {note} Open it in a browser:"
            ));
            print(&address)?;
        }
    }
    Ok(Exit::Done)
}
