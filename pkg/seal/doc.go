// Package seal represents secret values and encrypts them to a key.
//
// It owns three types. A Secret is a value that must not be shown: it prints, marshals and logs as
// "(sensitive)", and only Reveal returns its bytes. An Identity is the private half of an age
// X25519 key: the install key in the customer's account, or the server's envelope key. A Recipient
// is the public half. It encrypts a value to a Sealed, which can be stored and shown anywhere and
// which names the key that decrypts it.
//
// It never stores a plaintext on disk, never uses a network, and never decides who may read a
// value. The runner decrypts with the install key, the reconciler with its envelope key, and all
// programs encrypt to a recipient.
package seal
