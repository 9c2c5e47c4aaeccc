// Package netguard opens connections to servers that an untrusted person names, within rules.
//
// Transport dials only the kinds of addresses that its options allow. It checks the address at the
// moment of dialing, so that a name whose DNS answer changes between two lookups does not bypass
// the rule, and checks it again after each redirect. It never uses a proxy from the environment,
// because then only the proxy's address could be checked. Handshakes, headers and pauses within a
// body have deadlines, headers have a size limit, and nothing is decompressed.
//
// Errors name the host as it was written and the kind of network that it leads to. They contain no
// resolved address and no name server: the author of a URL must not learn the layout of the network
// that reads it.
//
// Describe states what went wrong, and what to do, for the author of a URL. A Budget bounds the bytes
// of responses; the caller chooses the number. reconciler/observe, pkg/configfetch, pkg/gitpack,
// runnerd/helmsdk/source and runnerd/kind/terraform/modules use the package.
package netguard
