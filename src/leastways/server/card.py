"""The model card of a service: what is asked, what decides, what is recorded and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastways import __version__
from leastways._messages import plain

if TYPE_CHECKING:
    from leastways.server.service import Service

RECORDED = (
    "the state, preferences, reference and audit attributes that were sent",
    "the options, their probabilities and figures, and the status",
    "fingerprints of model, schema and training data, settings, seed and versions",
    "what a person said on their page, and the option that they took, or why none fits",
    "the time of each of these",
)


def model_card(service: Service) -> dict[str, Any]:
    """Return the card as plain values."""
    config = service.config
    return {
        "title": config.title,
        "version": __version__,
        "features": [
            {
                "name": f.name,
                "label": f.wording,
                "unit": f.unit,
                "kind": f.kind,
                "direction": f.direction,
                "allowed": f.possible_text(),
                "values": None if f.numeric else [plain(v) for v in f.values],
            }
            for f in service.schema.features
        ],
        "rules": [str(rule) for rule in service.schema.rules],
        "groups": list(config.groups),
        "settings": service.origin.settings_dict(),
        "fingerprints": dict(service.origin.prints),
        "origin": service.origin.id,
        "recorded": list(RECORDED),
        "retention_days": config.retention_days,
        "erased": service.store.erased(),
        "limits": vars(config.limits),
    }
