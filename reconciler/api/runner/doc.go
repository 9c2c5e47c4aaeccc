// Package runner implements the runner API, on the listener that runners connect to with their own
// kinds of token. It translates HTTP into calls of jobs, runners, tfstate and joblog, and their refusals into
// problem+json. It also serves the vendor's artifacts, read-only and by digest, to jobs whose spec
// names them. It decides nothing about jobs and holds no state but a cache of manifests.
package runner
