package build

// RegistryLogin is the part of Get that returns the login to the registry of a cloud.
var RegistryLogin = (*ModuleCredentials).registryLogin
