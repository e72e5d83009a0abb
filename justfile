# What there is to do here. Every recipe is a script or one command that also works without just.

# Lists the recipes.
default:
    @just --list --unsorted

# Runs three small jobs in a service of its own; needs no key.
demo *options:
    cargo run -- demo {{ options }}

# Runs the whole service in one process.
up *options:
    cargo run -- up {{ options }}

# Runs every test, after installing what they need.
test *options:
    scripts/test {{ options }}

# Checks what must hold beside the tests: format, lints, documentation, dependencies, .sqlx, Python scripts.
check:
    scripts/check

# Does what CI does.
ci:
    .ci/run

# Regenerates .sqlx. Run it when SQL has changed.
sqlx:
    scripts/sqlx-prepare

# Regenerates the OpenAPI document. Run it when the API has changed.
openapi:
    SKILLET_UPDATE=1 cargo test -p tests --test it openapi

# Builds a release archive and, where dpkg-deb is installed, a Debian package.
package *options:
    scripts/package {{ options }}

# Measures, and prints each figure beside its limit.
bench *options:
    cargo run --release -p bench -- {{ options }}

# Kills, stops and cuts off the parts of services, and checks that nothing is lost.
chaos *options:
    cargo run --release -p bench -- chaos {{ options }}
