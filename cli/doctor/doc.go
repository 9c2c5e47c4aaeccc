// Package doctor is `nuon doctor`: it says what of this machine nuon can use, what is missing, and how to get it.
//
// It only looks: it starts nothing but version commands, writes nothing, and sends nothing but one question to the current
// control plane. What counts as missing is what `nuon dev` cannot do without; the rest is told for information.
package doctor
