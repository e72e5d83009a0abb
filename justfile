# Development tasks. Every recipe is a script or one command that also works without just.

# Lists the recipes.
default:
    @just --list --unsorted

# Runs three small jobs in a separate service; needs no key.
demo *options:
    cargo run -- demo {{ options }}

# Runs the whole service in one process.
up *options:
    cargo run -- up {{ options }}

# Installs the programs that the tests need, and runs all tests.
test *options:
    scripts/test {{ options }}

# Runs all checks except the tests: format, lints, documentation, dependencies, .sqlx, Python scripts.
check:
    scripts/check

# Runs the same checks and tests as CI.
ci:
    .ci/run

# Regenerates .sqlx. Run it after changes to SQL.
sqlx:
    scripts/sqlx-prepare

# Regenerates the OpenAPI document. Run it after changes to the API.
openapi:
    SKILLET_UPDATE=1 cargo test -p tests --test it openapi

# Builds a release archive and, where dpkg-deb is installed, a Debian package.
package *options:
    scripts/package {{ options }}

# Runs the benchmarks, and prints each figure with its limit.
bench *options:
    cargo run --release -p bench -- {{ options }}

# Kills, stops and disconnects parts of services, and checks that nothing is lost.
chaos *options:
    cargo run --release -p bench -- chaos {{ options }}
