package azure

import "time"

// OpenForTest opens the store of a stand-in with the identity of the machine that the environment names.
func OpenForTest(vault string, pause time.Duration) (*Store, error) {
	return Open(Options{Vault: vault, FirstPause: pause, Token: newToken("https://acme.vault.azure.net")})
}
