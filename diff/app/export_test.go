package app

// NotYet is notYet for the tests.
func NotYet() map[string]string { return notYet }
