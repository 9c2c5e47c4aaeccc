// Package oracle contains only tests: an independent comparison of two objects, written from the
// rules of the Kubernetes API, and a check that diff/kubernetes reports the same differences and no
// others.
//
// It uses nothing of the diff engine except its report. The meaning of each field is written down
// here again, by hand, from the API reference; random objects are drawn from that description.
package oracle
