"""Wang and Yuan (2004): Flexible NBTree beside NBTree and C4.5 on 12 data sets."""

from unnaive_papers.wang.experiments import CONFIGURATIONS, EXPERIMENTS, MEASURES
from unnaive_papers.wang.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "MEASURES", "show"]
