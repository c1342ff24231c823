// ExternalDNS, which the end-to-end tests run beside Fingerpost; built by `cargo xtask test`.
module fingerpost.dev/tools/external-dns

go 1.26.1

require sigs.k8s.io/external-dns v0.21.0
