"""The experiments that come with groupsim, each answering one question that operators really ask."""
