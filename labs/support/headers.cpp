// SPDX-License-Identifier: Apache-2.0
// Nothing: the target of this file holds the precompiled headers of the labs.
