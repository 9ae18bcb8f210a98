# Sourced. Where the test bed lies: in the user's cache, or in the build directory where no cache can be written.
# Each part is named by what it was made from, so a changed version never meets an old download.
testbed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${BRINKWATCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/brinkwatch}
if ! mkdir -p "$cache" 2>/dev/null || ! [ -w "$cache" ]; then
    cache=$testbed/../../target/testbed
    mkdir -p "$cache"
fi
cache=$(cd "$cache" && pwd)

fingerprint() { sha256sum <"$1" | cut -c1-10; }

export BRINKWATCH_KAFKA_JARS=$cache/kafka-$(fingerprint "$testbed/kafka-pom.xml")
export BRINKWATCH_TIERS_JARS=$cache/tiers-$(fingerprint "$testbed/tiers-pom.xml")
export BRINKWATCH_SPARK_JARS=$cache/spark-$(fingerprint "$testbed/spark-pom.xml")
export BRINKWATCH_S3A_JARS=$cache/s3a-$(fingerprint "$testbed/s3a-pom.xml")
venv=$cache/venv-$( (python3 -V 2>/dev/null || true) | tr -dc "0-9.")-$(fingerprint "$testbed/requirements.txt")

# Servers that speak as object stores do, installed by install-stores.
stores=$cache/stores-$(fingerprint "$testbed/install-stores")
export BRINKWATCH_MOTO=$stores/moto/bin/moto_server
export BRINKWATCH_AZURITE=$stores/azurite/node_modules/.bin/azurite-blob
export BRINKWATCH_HDFS_JARS=$cache/hdfs-$(fingerprint "$testbed/hdfs-pom.xml")
export BRINKWATCH_FAKE_GCS=$stores/fake-gcs-server

# Runs inside a page of the browser tests, installed by install-axe.
axe_version=4.11.0
export BRINKWATCH_AXE=$cache/axe-$axe_version/node_modules/axe-core/axe.min.js

# What reads the files of deploy/, installed by install-deploy.
deploy_tools=$cache/deploy-$(cat "$testbed"/install-deploy "$testbed"/deploy-requirements.txt "$testbed"/operator/* | sha256sum | cut -c1-10)
export BRINKWATCH_DEPLOY_TOOLS=$deploy_tools
