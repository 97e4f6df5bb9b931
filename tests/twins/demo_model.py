# SPDX-License-Identifier: Apache-2.0
"""demo_model.py DATA MODEL REPORT torch|numpy: the accuracy of the demo's model, computed without plab."""
import csv
import json
import sys

import numpy
from safetensors.numpy import load_file

data, model, report, library = sys.argv[1:5]
with open(report) as file:
    told = json.load(file)
with open(data) as file:
    rows = [row for row in csv.reader(file) if row and row[0].lstrip("-")[0].isdigit()]
table = numpy.array(rows, dtype=numpy.float32)[told["test_rows"]]
x, y = table[:, :-1] / numpy.float32(told["divide_features_by"]), table[:, -1].astype(int)
weights = load_file(model)
if library == "torch":
    import torch

    net = torch.nn.Sequential(
        *[m for i in (0, 2) for m in (torch.nn.Linear(*reversed(weights[f"{i}.weight"].shape)), torch.nn.ReLU())][:-1]
    )
    net.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    found = net(torch.from_numpy(x)).argmax(1).numpy()
else:
    hidden = numpy.maximum(x @ weights["0.weight"].T + weights["0.bias"], 0)
    found = (hidden @ weights["2.weight"].T + weights["2.bias"]).argmax(1)
print(len(y), int((found == y).sum()))
