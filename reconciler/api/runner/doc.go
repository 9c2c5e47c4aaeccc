// The runner API: the listener that runners dial out to, with tokens of its own. This package turns HTTP into calls of package
// dispatch and its errors into problem+json; besides, it hands out the vendor's artifacts, read-only and by digest, to jobs whose
// spec names them. It decides nothing about jobs and holds no state but a cache of manifests.
package runner
