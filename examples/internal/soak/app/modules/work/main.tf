# A piece of work that writes down, beside Terraform, that it was done: by whom, for which plan, and whether it came to its end.

variable "install" {
  type = string
}

variable "component" {
  type = string
}

variable "step" {
  type = string
}

variable "lines" {
  type = number
}

resource "terraform_data" "note" {
  input = "${var.component} of ${var.install} at ${var.step}"
}

resource "terraform_data" "work" {
  triggers_replace = [var.step]
  input            = "${var.install} ${var.component} ${var.step}"

  provisioner "local-exec" {
    command = "exec /bin/sh \"$HOME/witness.sh\" create ${self.input} ${self.id} ${plantimestamp()} ${var.lines}"
    quiet   = true
  }

  provisioner "local-exec" {
    when    = destroy
    command = "exec /bin/sh \"$HOME/witness.sh\" destroy ${self.input} ${self.id} ${plantimestamp()} 2"
    quiet   = true
  }
}

output "step" {
  value = var.step

  # Whoever reads it waits until the work is done.
  depends_on = [terraform_data.work]
}
