// Package metrics provides a replica's diagnostics to its operators: Prometheus metrics,
// long-running goroutines, profiles. It owns the names of the metrics (docs/operations.md lists
// them) and the handler of the operators' listener. Labels are bounded: route templates, kinds and
// statuses, never an org, an install, a job or a person. It counts the events that others report
// and queries the store on a scrape; it decides nothing. The main program calls it.
package metrics
