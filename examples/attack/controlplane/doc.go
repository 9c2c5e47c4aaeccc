// Package controlplane is a hostile control plane: it registers a real runnerd, gives it whatever jobs it likes, and records every
// byte that comes back.
//
// It owns the runner API as the attacker serves it, a machine on which the runner is started, and the attacks. It knows what a stolen
// control plane knows: the public half of the install key, and every ciphertext that was ever sealed to it.
package controlplane
