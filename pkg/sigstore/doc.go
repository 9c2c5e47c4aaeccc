// Package sigstore verifies signatures of images offline, as cosign and other clients of Sigstore make them.
//
// It owns public keys, the trust root (trusted_root.json) that an app config pins, and the proof of a keyless
// signature: a certificate of the root's authority for an identity, the entry in the root's transparency log, and
// the time that the log or a timestamp authority states. A service that the root names has to have taken part: a
// root with a log requires an entry of it.
//
// It knows nothing of images and registries: runnerd/kind/image reads signatures and determines which image they are
// about. It never contacts a server, reads no certificate or key of the machine, and takes none from a signature but
// the certificate of the signer. All that it parses is hostile, except for the trust root, which the vendor writes.
package sigstore
