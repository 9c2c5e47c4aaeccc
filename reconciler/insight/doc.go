// Package insight is what a replica shows of itself to whoever runs it: Prometheus metrics, the goroutines that live long, profiles.
// It owns the names of the metrics (docs/operations.md lists them) and the listener's handler. Labels are bounded: route templates,
// kinds, statuses; never an org, an install, a job or a person. It counts what it is told and asks the store when it is scraped; it
// decides nothing. The program wires it.
package insight
