//! A model of one job and two workers, checked for every order of events.
//!
//! Appends arrive late or twice. Answers get lost. Workers die, stop, continue or are cut off. The model is the
//! protocol of `db::claim`, `db::log` and `db::run` without the SQL. The checker also runs variants of the protocol in
//! which one rule is missing. In each variant, one of the properties must fail.

mod protocol;

use protocol::{Entry, LogEntryKind, Protocol, ProtocolState, WORKERS};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// The properties that must hold in every state or in the end.
fn promises() -> Vec<Property<Protocol>> {
    vec![
        Property::always(
            "one entry ends the log, and is its last",
            |_, state: &ProtocolState| {
                let place = state
                    .log
                    .iter()
                    .position(|(_, kind)| *kind == LogEntryKind::Ended);
                place.is_none_or(|place| place + 1 == state.log.len())
            },
        ),
        Property::always("nothing is written twice", |_, state: &ProtocolState| {
            let twice = |(place, entry)| state.log[..place].contains(entry);
            !state.log.iter().enumerate().any(twice)
        }),
        Property::always("only the holder writes", |_, state: &ProtocolState| {
            let is_superseded = |pair: &[Entry]| pair[1].0 < pair[0].0;
            let after_end =
                |pair: &[Entry]| pair[0].1 == LogEntryKind::Retried && pair[0].0 == pair[1].0;
            // A cancellation can end a job that no worker holds.
            let is_after_end = |pair: &[Entry]| after_end(pair) && pair[1].1 != LogEntryKind::Ended;
            !state.was_written_without_lease
                && !state
                    .log
                    .windows(2)
                    .any(|pair| is_superseded(pair) || is_after_end(pair))
        }),
        Property::always(
            "two work at once only if one has slept",
            |_, state: &ProtocolState| {
                let is_busy =
                    |worker: &usize| state.work[*worker].is_some() && !state.was_stopped[*worker];
                (0..WORKERS).filter(is_busy).count() < 2
            },
        ),
        Property::always(
            "what is saved is there while it is needed",
            |_, state: &ProtocolState| !state.cleared || state.is_over(),
        ),
        Property::eventually("the job ends", |_, state: &ProtocolState| state.is_over()),
    ]
}

/// The properties that the protocol violates. The search ends when the violations in `enough` are found.
fn broken(protocol: Protocol, enough: HasDiscoveries) -> Vec<&'static str> {
    let checker = protocol.checker().threads(2).finish_when(enough);
    checker
        .spawn_bfs()
        .join()
        .discoveries()
        .into_keys()
        .collect()
}

#[test]
fn the_protocol_keeps_its_promises_in_every_order_of_events() {
    assert_eq!(broken(Protocol::Complete, HasDiscoveries::All), [""; 0]);
}

#[test]
fn every_rule_of_the_protocol_is_needed() {
    let protocols = [
        (
            Protocol::FinishWithoutFence,
            "one entry ends the log, and is its last",
        ),
        (Protocol::AppendWithoutBase, "nothing is written twice"),
        (Protocol::ReapWithoutTrace, "only the holder writes"),
        (
            Protocol::NoSurrender,
            "two work at once only if one has slept",
        ),
        (
            Protocol::WrittenByNumber,
            "what is saved is there while it is needed",
        ),
        (Protocol::NoReaper, "the job ends"),
        (Protocol::NothingGivenUp, "the job ends"),
    ];
    for (protocol, promise) in protocols {
        let found = broken(protocol, HasDiscoveries::AnyOf([promise].into()));
        assert!(found.contains(&promise), "{protocol:?} breaks {found:?}");
    }
}
