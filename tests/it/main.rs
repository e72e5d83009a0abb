//! The whole system, from the outside: real processes, a real database, a scripted model.

mod support;

mod smoke;
