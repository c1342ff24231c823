// Helm, with which the tests render and install the chart; built by `cargo xtask test`.
module fingerpost.dev/tools/helm

go 1.26.0

require helm.sh/helm/v4 v4.3.1
