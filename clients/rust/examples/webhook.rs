//! Example from the README: verification of a webhook.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;

use skillet_client::{WebhookError, verify_webhook};

/// The status to answer with.
fn receive(headers: &HashMap<String, String>, body: &[u8], secret: &str) -> u16 {
    let header = |name: &str| headers.get(name).map(String::as_str);
    match verify_webhook(body, header, &[secret]) {
        Ok(content) => {
            println!("{}", content["type"]);
            204
        }
        Err(WebhookError::Secret) => 500,
        Err(_) => 400,
    }
}

fn main() {
    let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    println!("{}", receive(&HashMap::new(), b"{}", secret));
}
