package app

// NotYet exports notYet for tests.
func NotYet() map[string]string { return notYet }
