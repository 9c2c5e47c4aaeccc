package format

// Metadata is metadata.toml: what the app is called and about. Every app has one.
type Metadata struct {
	// Version of the format. Both mean the same; v2 is current.
	Version string `toml:"version" json:"version,omitempty" config:"required,one=v2|v1"`
	// Name for people.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" config:"idle" example:"Ledger"`
	// What the app is, in a sentence.
	Description string `toml:"description" json:"description,omitempty" config:"idle" example:"Double-entry bookkeeping in your own account"`
	// Markdown, rendered for each install.
	Readme string `toml:"readme" json:"readme,omitempty" config:"template,file,idle" example:"./README.md"`
	// Address that is told of what happens to the app.
	SlackWebhookURL string `toml:"slack_webhook_url" json:"slack_webhook_url,omitempty" config:"url,idle" example:"https://hooks.example.com/ledger"`
	// Colours in which labels are shown, as #rrggbb.
	LabelColors map[string]string `toml:"label_colors" json:"label_colors,omitempty" config:"idle" example:"ring=#2e7d32"`
	// Labels that every install begins with.
	DefaultLabels map[string]string `toml:"default_labels" json:"default_labels,omitempty" config:"idle" example:"ring=0"`
	// Data of the vendor's catalogue of example apps.
	Onboarding *Onboarding `toml:"onboarding" json:"onboarding,omitempty" config:"idle"`
}

// Onboarding is what a catalogue of example apps shows.
type Onboarding struct {
	// Whether the app is in the catalogue.
	Enabled bool `toml:"enabled" json:"enabled,omitempty"`
	// Shelf of the catalogue.
	Category string `toml:"category" json:"category,omitempty" example:"self-hosted"`
	// The cloud that the app is for.
	CloudProvider string `toml:"cloud_provider" json:"cloud_provider,omitempty" config:"one=aws|azure|gcp"`
	// How much there is to understand.
	Difficulty string `toml:"difficulty" json:"difficulty,omitempty" example:"simple"`
}
