// Package modules resolves the module calls of a Terraform component that lead outside of its
// repository, and installs what they lead to where Terraform looks for it.
//
// It owns which calls there are (those of the component, of its local modules, and of the modules
// that were fetched), which version of a registry module is chosen, how a package is fetched (module
// registries, git over https and ssh, https archives), and the files below .terraform/modules that
// "terraform init -get=false" reads. A Resolution records what was chosen. Resolving again with it
// fetches the same content, or fails with a *ChangedError.
//
// All input is hostile: the configuration, the registry, the archives and the repositories. Time,
// bytes, files, redirects and depth are bounded, and addresses on private networks are dialed only
// where the options allow it. Credentials are sent only to the address for which they were returned.
// They enter no error, no resolution, no cache and no packed file. No proxy from the environment is
// used and no other program runs.
//
// What a build of Terraform resolves is fetched the same way, with these differences:
//
//   - a ref that is both a branch and a tag means the tag, unless it is the default branch;
//   - a commit in ?ref= must have all of its 40 digits;
//   - submodules are fetched with the rules and credentials of any other git address, and one that
//     cannot be fetched fails the call (Terraform has git do it);
//   - files in Git LFS stay pointers;
//   - s3::, gcs::, hg::, oci:// and paths of this machine are errors, as are credentials in a source;
//   - links that leave their package are errors, and .git and .terraform are left out.
//
// The package never runs Terraform and never decides when to resolve again: its caller stores the
// Resolution. The build handler of package terraform calls it.
package modules
