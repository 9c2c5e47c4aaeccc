package appconfig

// checks are what is looked at once all files are read. Each is a pure function of the config; the order means nothing.
var checks = []func(c *config, r *reporter){check}
