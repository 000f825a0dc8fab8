"""What a core install must be able to do. Run by the suite with all extras blocked, and by CI in a bare environment."""

import tempfile
from pathlib import Path

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leastways as lw

data = lw.datasets.load_credit(n=600)
model = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    ),
    LogisticRegression(max_iter=1000),
).fit(data.X, data.y)
refused = data.people[model.predict(data.people) == 0].head(5)
rec = lw.Recourse(model, data.schema(), n_options=3, budget=60, n_costs=50).fit(data.train)
plans = rec.recommend(refused)
assert (plans.summary["status"] == "found").any()
assert lw.RecoursePlans.from_json(plans.to_json()) == plans
print(plans[refused.index[0]].to_text())

with tempfile.TemporaryDirectory() as folder:
    for model_file, extra in (("m.onnx", "onnx"), ("m.skops", "skops")):
        path = Path(folder) / model_file
        path.write_bytes(b"x")
        message = ""
        try:
            lw.Recourse(lw.load_model(path), data.schema()).fit(data.train)
        except lw.MissingExtraError as error:
            message = str(error)
        assert f"leastways[{extra}]" in message, f"{model_file}: {message}"
print("core works")
