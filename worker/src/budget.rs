//! The budget of an attempt. Before each model call, its maximum usage is reserved. A call that does not fit is not
//! made. The usage of the reply replaces the reservation.
//!
//! A reservation counts as used if its call reports no usage: the stream broke, the attempt ended before
//! the reply, or the provider does not count tokens. The log contains each reservation before its call, so
//! a later attempt knows it.

mod fit;
mod input_upper_bound;
mod model_prices;
mod tenant;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use shared::db;
use shared::db::budget::ReservationId;
use shared::event::{BudgetSettled, EventData};
use shared::job::{JobError, LoopStop, Reservation, UnconfirmedUsage, Usage};
use shared::limits::Limits;
use shared::message::{AssistantMessage, Tokens};
use shared::model_list::ModelList;
use shared::provider::{Price, Providers, SCRIPT};

use worker_tool::{EventSink, LeaseLost};

use crate::question::Question;
use crate::transcript::Transcript;
use fit::{PlannedCall, Remaining};
use input_upper_bound::{KnownCounts, input_upper_bound};
pub(crate) use model_prices::ModelPrices;
pub(crate) use tenant::TenantReservations;

/// The budget of an attempt.
pub(crate) struct Budget<'a> {
    log: &'a dyn EventSink,
    limits: Limits,
    prices: ModelPrices,
    /// The highest price among the models, or `None` if a price is unknown.
    price: Option<Price>,
    /// Whether model calls use up a budget. Calls of a script do not.
    is_real: bool,
    tenant: Option<TenantReservations<'a>>,
    /// Whether the tenant has a budget. This can change at any time.
    has_tenant_budget: &'a AtomicBool,
    /// The number of messages from before this attempt.
    inherited_messages: usize,
    window: Option<u32>,
    state: Mutex<BudgetState>,
}

#[derive(Default)]
struct BudgetState {
    unconfirmed_usage: UnconfirmedUsage,
    /// The reservation of the last call, and its id in the tenant's budget.
    call: Option<(Reservation, Option<ReservationId>)>,
    /// The limit that lowered the cap of the reply.
    lowered: Option<LoopStop>,
    /// The reason why a failed call was not repeated.
    refusal: Option<Result<LoopStop, BudgetError>>,
}

/// The result of a reservation.
pub(crate) enum Reserved {
    /// The maximum number of tokens of the reply, which may be lower than requested.
    Granted(u32),
    /// The limit that does not allow the call.
    Refused(LoopStop),
}

/// The reason why a reservation could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BudgetError {
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
    #[error("the database failed")]
    Database(#[from] db::Error),
}

/// The limits of a budget, and the prices for its calculation.
pub(crate) struct BudgetTerms {
    pub(crate) limits: Limits,
    pub(crate) prices: ModelPrices,
    /// Whether model calls use up a budget. Calls of a script do not.
    pub(crate) is_real: bool,
    /// The largest context window of the models in tokens.
    pub(crate) window: Option<u32>,
}

impl BudgetTerms {
    /// Creates the terms of a job. A cost limit requires models with known prices.
    pub(crate) fn new(
        models: &ModelList,
        limits: Limits,
        providers: &Providers,
    ) -> Result<Self, JobError> {
        let windows = models.iter().map(|model| providers.context_window(model));
        let windows: Option<Vec<_>> = windows.collect();
        Ok(Self {
            limits,
            prices: ModelPrices::new(models, &limits, providers)?,
            is_real: models.first().provider() != SCRIPT,
            window: windows.and_then(|windows| windows.into_iter().max()),
        })
    }
}

impl<'a> Budget<'a> {
    /// Opens the budget of an attempt. The transcript must be in the state that earlier attempts left.
    pub(crate) fn open(
        terms: BudgetTerms,
        log: &'a dyn EventSink,
        tenant: Option<TenantReservations<'a>>,
        has_tenant_budget: &'a AtomicBool,
        transcript: &mut Transcript,
    ) -> Self {
        Self {
            log,
            limits: terms.limits,
            price: terms.prices.most_expensive(),
            prices: terms.prices,
            is_real: terms.is_real,
            tenant,
            has_tenant_budget,
            inherited_messages: transcript.messages().len(),
            window: terms.window,
            state: Mutex::new(BudgetState {
                unconfirmed_usage: std::mem::take(&mut transcript.progress.unconfirmed_usage),
                ..BudgetState::default()
            }),
        }
    }

    /// Whether an abandoned reply uses up a budget.
    pub(crate) fn applies(&self) -> bool {
        let limits = &self.limits;
        let is_limited = limits.max_total_tokens.is_some() || limits.max_cost_usd.is_some();
        self.is_real && (is_limited || self.shared().is_some())
    }

    /// Returns the reservations in the tenant's budget, if the tenant has one.
    fn shared(&self) -> Option<&TenantReservations<'a>> {
        let has_one = self.has_tenant_budget.load(Ordering::Relaxed);
        self.tenant.as_ref().filter(|_| has_one)
    }

    /// Returns the presumed usage of calls that reported none, in this attempt and earlier attempts.
    pub(crate) fn unconfirmed_usage(&self) -> UnconfirmedUsage {
        self.state().unconfirmed_usage
    }

    /// Reserves the maximum usage of the question.
    pub(crate) async fn reserve(&self, question: &Question<'_>) -> Result<Reserved, BudgetError> {
        if !self.applies() {
            return Ok(Reserved::Granted(question.request.max_tokens));
        }
        let urgency = question.urgency;
        let mut call = self.call(question);
        let mut lowered = None;
        for (left, stop) in self.left(&question.used) {
            match call.fits(left, urgency) {
                None => return Ok(Reserved::Refused(stop)),
                Some(cap) if cap < call.cap => {
                    call.cap = cap;
                    lowered = Some(stop);
                }
                Some(_) => {}
            }
        }
        let reservation_id = match self.shared() {
            None => None,
            Some(tenant) => match tenant.reserve_fitting(&call, urgency).await? {
                None => return Ok(Reserved::Refused(LoopStop::TenantBudget)),
                Some((cap, reservation_id)) => {
                    if cap < call.cap {
                        call.cap = cap;
                        lowered = Some(LoopStop::TenantBudget);
                    }
                    Some(reservation_id)
                }
            },
        };
        self.state().lowered = lowered;
        self.record_reservation(call.reservation(), reservation_id)
            .await?;
        Ok(Reserved::Granted(call.cap))
    }

    fn call(&self, question: &Question<'_>) -> PlannedCall {
        let measured = question.measured;
        let known = KnownCounts {
            measured,
            is_same_head: measured.is_some_and(|it| it.messages > self.inherited_messages),
            window: self.window,
        };
        PlannedCall {
            price: self.price,
            input: input_upper_bound(&question.request, known),
            cap: question.request.max_tokens,
        }
    }

    /// Sets the cost in a reply's usage, and releases the unused part of the tenant's reservation.
    pub(crate) async fn settle(&self, reply: &mut AssistantMessage) {
        let price = self.prices.of(&reply.model);
        let used = &mut reply.usage;
        // Without a token count the cost is unknown, unless the model is free.
        let price = price.filter(|price| used.total() > 0 || *price == Price::FREE);
        used.cost_usd = price.map(|price| price.cost(used));
        let Some((reservation, reservation_id)) = self.state().call.take() else {
            return;
        };
        if used.total() > reservation.tokens {
            tracing::warn!(
                used = used.total(),
                reserved = reservation.tokens,
                "a reply used more tokens than were reserved for it"
            );
        }
        let counted = used.is_counted().then_some(&*used);
        self.give_back(reservation_id, counted).await;
    }

    /// Records that the job's usage includes the usage of the reply. Until then, the reservation represents that
    /// usage, in case the attempt is interrupted.
    pub(crate) fn record(&self, used: &Tokens) {
        self.state().unconfirmed_usage.settle(used);
    }

    /// Records a failed try, and reserves the same amount for the next try. Returns `false` if
    /// there is no budget for it.
    pub(crate) async fn fail(&self, may_be_billed: bool, is_last: bool, used: Usage) -> bool {
        let call = self.state().call;
        let Some((reservation, reservation_id)) = call.filter(|_| may_be_billed || is_last) else {
            return true;
        };
        self.state().call = None;
        if !may_be_billed {
            self.state().unconfirmed_usage.release();
            self.give_back(reservation_id, Some(&Tokens::default()))
                .await;
            let usage = Tokens::default();
            let settled = EventData::BudgetSettled(BudgetSettled { usage });
            self.log.append(settled).await;
            return true;
        }
        self.give_back(reservation_id, None).await;
        if is_last {
            return true;
        }
        let refusal = match self.reserve_again(reservation, &used).await {
            Ok(None) => return true,
            Ok(Some(stop)) => Ok(stop),
            Err(error) => Err(error),
        };
        self.state().refusal = Some(refusal);
        false
    }

    async fn reserve_again(
        &self,
        reservation: Reservation,
        used: &Usage,
    ) -> Result<Option<LoopStop>, BudgetError> {
        for (left, stop) in self.left(used) {
            if !left.covers(reservation) {
                return Ok(Some(stop));
            }
        }
        let reservation_id = match self.shared() {
            None => None,
            Some(tenant) => match tenant.reserve(reservation).await? {
                None => return Ok(Some(LoopStop::TenantBudget)),
                reservation_id => reservation_id,
            },
        };
        self.record_reservation(reservation, reservation_id).await?;
        Ok(None)
    }

    /// Commits the reservation to the log before the call, so that a later attempt knows it.
    async fn record_reservation(
        &self,
        reservation: Reservation,
        reservation_id: Option<ReservationId>,
    ) -> Result<(), BudgetError> {
        {
            let mut state = self.state();
            state.unconfirmed_usage.reserve(reservation);
            state.call = Some((reservation, reservation_id));
        }
        let reserved = EventData::BudgetReserved(reservation);
        Ok(self.log.commit(reserved).await?)
    }

    /// Returns the limit or error that prevented a repetition of the last request.
    pub(crate) fn refusal(&self) -> Option<Result<LoopStop, BudgetError>> {
        self.state().refusal.take()
    }

    /// Returns the stop reason of the loop. If a lowered cap cut the reply, the reason is the budget.
    pub(crate) fn explain(&self, stop: LoopStop) -> LoopStop {
        match stop {
            LoopStop::MaxTokens => self.state().lowered.unwrap_or(stop),
            _ => stop,
        }
    }

    /// Returns the remainder of each of the job's own limits, with its stop reason.
    fn left(&self, used: &Usage) -> [(Remaining, LoopStop); 2] {
        let presumed = self.unconfirmed_usage().total();
        let Limits {
            max_total_tokens,
            max_cost_usd,
            ..
        } = self.limits;
        let tokens = used.tokens.total().saturating_add(presumed.tokens);
        // Replies that older releases wrote have no cost.
        let cost = used.tokens.cost_usd;
        let cost = cost.or_else(|| Some(self.price?.cost(&used.tokens)));
        let cost = cost.unwrap_or_default() + presumed.cost;
        let tokens = Remaining {
            tokens: max_total_tokens.map(|most| most.saturating_sub(tokens)),
            cost: None,
        };
        let cost = Remaining {
            tokens: None,
            cost: max_cost_usd.map(|most| most.saturating_sub(cost)),
        };
        [
            (tokens, LoopStop::MaxTotalTokens),
            (cost, LoopStop::MaxCostUsd),
        ]
    }

    async fn give_back(&self, reservation_id: Option<ReservationId>, used: Option<&Tokens>) {
        if let (Some(id), Some(tenant)) = (reservation_id, &self.tenant) {
            tenant.give_back(id, used).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
