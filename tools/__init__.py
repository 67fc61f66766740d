"""What keeps the repository in order: releases, and checks that tests and releases share."""
