// Package apiclient is the client of runnerd and its job processes for the
// control plane's runner API.
//
// It owns how responses are classified (success, retry, permanent failure), the pauses between
// retries, how long a call that the server holds open may be silent, and the two log lines
// for lost and restored contact.
//
// It never decides which calls to make, and retries until the caller's context ends.
// The loops of runnerd and the job process use it.
package apiclient
