// Package seal holds what may be secret, and closes it to a key.
//
// It owns three things. A Secret is a value that may not be shown: it prints, marshals and logs as "(sensitive)", and Reveal is
// the one door to its bytes. An Identity is the private half of an age X25519 key: the install key in the customer's account, or
// the server's envelope key. A Recipient is its public half; what it seals, a Sealed value, can be kept and shown anywhere, and
// names the key that opens it.
//
// It never keeps a plaintext on disk, never talks to a network, and never decides who may read what. The runner opens with the
// install key, the reconciler with its envelope key, and everyone seals to a recipient.
package seal
