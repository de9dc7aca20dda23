"""What shows results: pages of plots and tables, plots as images, and PDFs."""
