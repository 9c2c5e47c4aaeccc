// Package controlplane is a hostile control plane: it registers a real runnerd, gives it arbitrary
// jobs, and records every byte that comes back.
//
// It owns the runner API as the attacker serves it, a machine on which the runner is started, and
// the attacks. It has what a stolen control plane has: the public half of the install key, and
// every ciphertext that was ever sealed to it.
package controlplane
