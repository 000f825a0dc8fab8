"""A torch network as the model. Needs: pip install 'leastways[torch]'. Run: python examples/torch_model.py"""

from __future__ import annotations

import torch
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leastways as lw


def main() -> None:
    torch.manual_seed(0)
    credit = lw.datasets.load_credit()
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    ).fit(credit.X)
    x = torch.tensor(encoder.transform(credit.X), dtype=torch.float32)
    y = torch.tensor(credit.y.to_numpy(), dtype=torch.float32)

    network = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(150):
        optimiser.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network(x)[:, 0], y)
        torch.autograd.backward(loss)
        optimiser.step()

    # The encoder turns raw rows into the network's input; one output column is the logit of class 1.
    model = lw.TorchModel(network, encoder)
    lw.testing.check_model(model, credit.people.head(50))
    recourse = lw.Recourse(model, credit.schema(), n_options=3, budget=200, n_costs=100).fit(credit.train)
    plans = recourse.recommend(credit.people.head(20))
    print(plans)
    person = plans.summary.index[plans.summary["status"] == "found"][0]
    print(plans[person].to_text())


if __name__ == "__main__":
    main()
