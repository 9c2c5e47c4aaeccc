// Package hardening protects a process that holds keys from other processes of the same user.
//
// It owns the two operating system settings for that: no core files, and no inspection. It never
// decides which processes hold keys; the programs call it at their start.
package hardening
