package format

// Installer is installer.toml: texts of a page on which customers install the app.
type Installer struct {
	// Title.
	Name string `toml:"name" json:"name,omitempty" example:"Ledger"`
	// What is installed.
	Description string `toml:"description" json:"description,omitempty" example:"Install Ledger in your cloud"`
	// Part of the page's URL.
	Slug string `toml:"slug" json:"slug,omitempty" example:"ledger"`
	// Apps on the page.
	Apps []string `toml:"apps" json:"apps,omitempty" config:"set" example:"ledger"`
	// URL of the documentation.
	DocumentationURL string `toml:"documentation_url" json:"documentation_url,omitempty" example:"https://docs.example.com"`
	// URL of the community.
	CommunityURL string `toml:"community_url" json:"community_url,omitempty" example:"https://community.example.com"`
	// URL of the vendor.
	HomepageURL string `toml:"homepage_url" json:"homepage_url,omitempty" example:"https://example.com"`
	// URL of the code.
	GithubURL string `toml:"github_url" json:"github_url,omitempty" example:"https://git.example.com/acme/ledger"`
	// URL of the logo.
	LogoURL string `toml:"logo_url" json:"logo_url,omitempty" example:"https://example.com/logo.svg"`
	// URL of the page's icon.
	FaviconURL string `toml:"favicon_url" json:"favicon_url,omitempty" example:"https://example.com/favicon.ico"`
	// URL of the image in link previews of the page.
	OGImageURL string `toml:"og_image_url" json:"og_image_url,omitempty" example:"https://example.com/card.png"`
	// URL of a demo.
	DemoURL string `toml:"demo_url" json:"demo_url,omitempty" example:"https://example.com/demo"`
	// Text that is shown after the installation.
	PostInstallMarkdown string `toml:"post_install_markdown" json:"post_install_markdown,omitempty" example:"Open https://ledger.example.com."`
	// Copyright notice.
	CopyrightMarkdown string `toml:"copyright_markdown" json:"copyright_markdown,omitempty" example:"Acme, Inc."`
	// Footer of the page.
	FooterMarkdown string `toml:"footer_markdown" json:"footer_markdown,omitempty" example:"Questions? Write to help@example.com."`
	// A second TOML file whose keys override those of this file.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`
}

// Triggers is triggers.toml: external events that start runs of branches. Its content is not
// checked.
type Triggers map[string]any
