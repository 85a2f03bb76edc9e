"""What the rooms above in ARCHITECTURE.md learn, as it is stored."""

from __future__ import annotations

from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm
from unnaive.bayes.scoring import PairTerm
from unnaive.counts import CountTable, Moments, Summary, Wanted
from unnaive.counts.periods import PeriodCounts
from unnaive.density import Densities, Scale
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.pack.objects import Objects
from unnaive.table import Column, Schema

LEARNED = (
    Column,
    Schema,
    Labels,
    Bins,
    Categories,
    Grid,
    CountTable,
    Moments,
    Wanted,
    Summary,
    PeriodCounts,
    Scale,
    Densities,
    TableTerm,
    GaussianTerm,
    KernelTerm,
    PairTerm,
    Scorer,
)
# Whatever sums and scorers are made of: `OBJECTS.pack(summary, Summary)` is plain data for
# `write_pack`, and `OBJECTS.unpack(node, Summary)` the same summary again.
OBJECTS = Objects(*LEARNED)
